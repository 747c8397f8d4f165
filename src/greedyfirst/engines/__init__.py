"""Where blocks of work run: threads of this process, or a Dask cluster; and blocks kept on disk."""
