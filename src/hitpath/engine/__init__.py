"""What really runs on this machine: rates measured by `hitpath calibrate`."""
