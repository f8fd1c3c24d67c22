"""A run on disk: save it, verify it, load it elsewhere; and what verification says of a file that was tampered with."""

import hashlib
import json
from pathlib import Path

import pacopt

law = pacopt.VaryingCurvature.draw(seed=0, n=20)
split = pacopt.split(law.sample(500, seed=1), prior=100, train=300, test=100, seed=2)
learned = pacopt.learn(law.problem, pacopt.GradientDescent(), split, steps=30)

# Written whole or not at all; an existing directory is never touched.
place = learned.save("runs/saved")
for path in sorted(place.iterdir()):
    print(f"{path.stat().st_size:>8} bytes  {path.name}")

# Every number is recomputed from the table by code that shares nothing with what made it; the candidates of
# twenty random cells, and the deployed one, are run again.
print()
print(pacopt.verify(place, rerun=20, seed=0))

# Loading imports no code of yours: classes are taken from modules that are imported already, if they have not changed.
again = pacopt.Learned.load(place)
print()
print(f"Loaded: {again}")
print(f"The same solution: {again.solve(split.test[0]).loss == learned.solve(split.test[0]).loss}")

# A number made a little better than it is: the manifest notices, as it would notice a damaged copy.
certificate, manifest = Path(place, "certificate.json"), Path(place, "manifest.json")
value = json.loads(certificate.read_text())
value["deployed"]["risk"] *= 0.9
certificate.write_text(json.dumps(value, sort_keys=True, indent=1) + "\n")
print()
print(pacopt.verify(place))

# Hashes are not signed, so the manifest can be written anew. The numbers are then found not to belong together.
listed = json.loads(manifest.read_text())
found = certificate.read_bytes()
listed["files"]["certificate.json"] = {
    "blake2b": hashlib.blake2b(found, digest_size=16).hexdigest(),
    "bytes": len(found),
}
manifest.write_text(json.dumps(listed, sort_keys=True, indent=1) + "\n")
print()
print(pacopt.verify(place))
