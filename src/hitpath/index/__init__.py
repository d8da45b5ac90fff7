"""Prefix trees and indexes: `forest` for a whole trace at once, `arrays` for a live index.

Both answer "how long a prefix of this is known"; `oracle` is the live index's obvious version,
`contract` what both promise. Imported by module, so that only what is used is compiled.
"""
