"""Models as documents of search engines, and the scores that these engines compute.

The engines are Elasticsearch, OpenSearch, Solr and Vespa.
:func:`requests` makes what is sent to an engine, from :func:`feature_set` to a ranked page;
:func:`read_log` reads the features that it logged; :func:`export`, which the method `export` of
rankers calls, writes a model; and :func:`evaluate` computes the scores of a document in the
arithmetic of the engine.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
