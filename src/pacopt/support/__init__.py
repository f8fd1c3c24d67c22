"""What everything else stands on: arrays, numbers, the machine."""
