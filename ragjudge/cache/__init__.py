"""The cache of judge calls: keys, a safe store, and a judge that looks there first."""
