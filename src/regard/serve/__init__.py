"""HTTP: LibreTranslate's API, an API of our own, the web page, and what an operator needs. One process, many users.

`app.py` puts the parts together; `service.py` takes a request from its arrival to its answer; `batching.py` searches
the sentences of all requests together. The libraries of the extra `serve` are imported in this room alone.
"""
