"""The process from which Spark forks its Python workers, with the modules that all of them need
imported once."""

if __name__ == "__main__":
    import lightgbm  # noqa: F401
    import xgboost  # noqa: F401
    from pyspark.daemon import manager

    import boostrank.clusters.spark  # noqa: F401

    manager()
