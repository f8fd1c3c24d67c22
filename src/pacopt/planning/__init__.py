"""Before anything is run: what so many instances can certify."""
