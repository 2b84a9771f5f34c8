"""Models as documents of Elasticsearch, OpenSearch, Solr and Vespa, and the scores that these engines compute.

:func:`export`, which the method `export` of rankers calls, writes a model; :func:`feature_set` makes the requests for
its features, and :func:`evaluate` computes the scores of a document in the arithmetic of the engine.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
