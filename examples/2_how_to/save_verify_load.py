"""A run on disk: save it, verify it, load it elsewhere; and what `verify` says about an altered file."""

import hashlib
import json
from pathlib import Path

import pacopt

law = pacopt.VaryingCurvature.draw(seed=0, n=20)
split = pacopt.split(law.sample(500, seed=1), prior=100, train=300, test=100, seed=2)
learned = pacopt.learn(law.problem, pacopt.GradientDescent(), split, steps=30)

# Written completely or not at all; an existing directory is never changed.
place = learned.save("runs/saved")
for path in sorted(place.iterdir()):
    print(f"{path.stat().st_size:>8} bytes  {path.name}")

# Independent code recomputes every number from the table; the candidates of twenty random cells, and the deployed
# one, are run again.
print()
print(pacopt.verify(place, rerun=20, seed=0))

# Loading does not import your code: classes come from modules already imported, if they have not changed.
again = pacopt.Learned.load(place)
print()
print(f"Loaded: {again}")
print(f"The same solution: {again.solve(split.test[0]).loss == learned.solve(split.test[0]).loss}")

# A number made slightly better than it is: the manifest notices, as it would notice a damaged copy.
certificate, manifest = Path(place, "certificate.json"), Path(place, "manifest.json")
value = json.loads(certificate.read_text())
value["deployed"]["risk"] *= 0.9
certificate.write_text(json.dumps(value, sort_keys=True, indent=1) + "\n")
print()
print(pacopt.verify(place))

# Hashes are not signatures, so the manifest can be rewritten. But then the numbers do not fit together.
listed = json.loads(manifest.read_text())
found = certificate.read_bytes()
listed["files"]["certificate.json"] = {
    "blake2b": hashlib.blake2b(found, digest_size=16).hexdigest(),
    "bytes": len(found),
}
manifest.write_text(json.dumps(listed, sort_keys=True, indent=1) + "\n")
print()
print(pacopt.verify(place))
