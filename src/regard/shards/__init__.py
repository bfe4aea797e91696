"""Translating what is too much for one process: shards that any number of processes and machines work on.

DIR/
    plan.json               what was asked, and into which shards the files were cut; written when all shards are there
    standard-input          what was read from there, if it was
    sources/000000.zst      the text of each shard of a text file, in UTF-8
    leases/000000           who works on a shard now; `cutting` and `writing` are leases, too
    reports/000000.json     what became of the segments of a shard
    done/000000.zst         the translation of a shard; it is written last, so a shard with this file is done
    written/0.json          size and hash of an output file, recorded before it appears in its place
"""
