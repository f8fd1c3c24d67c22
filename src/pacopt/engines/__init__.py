"""Where a candidate runs on an instance. An engine turns candidates and instances into a `LossTable`."""
