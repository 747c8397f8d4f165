"""Options of commands whose work can be spread: threads, a Dask cluster, blocks kept on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from greedyfirst.engines.engine import Spread, Where, n_threads
from greedyfirst.validation import whole_number, wrong

Jobs = Annotated[int, typer.Option(help="Threads; -1 is one per processor.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="The address of a Dask scheduler whose workers do the work: tcp://10.0.0.5:8786."
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="Do the work in as many Dask workers, started on this machine.")
]
Resume = Annotated[
    Path | None,
    typer.Option(help="A directory that keeps finished blocks; a second run goes on from them."),
]


@contextmanager
def spread_over(
    *, jobs: int, cluster: str | None, workers: int | None, resume: Path | None
) -> Iterator[Spread]:
    """What these options ask for, with a client of the cluster while the work lasts."""
    with done_by(jobs=jobs, cluster=cluster, workers=workers) as where:
        yield {**where, "resume": resume}


@contextmanager
def done_by(*, jobs: int, cluster: str | None, workers: int | None) -> Iterator[Where]:
    """The threads that these options ask for, or a client of the cluster while the work lasts."""
    n_threads("--jobs", jobs)
    if workers is not None:
        whole_number("--workers", workers, at_least=1)
    if cluster is not None and workers is not None:
        raise wrong("--workers", workers, "left out where --cluster is given")
    if cluster is None and workers is None:
        yield {"n_jobs": jobs}
        return
    if jobs != -1:
        raise wrong("--jobs", jobs, "left out where --cluster or --workers is given")
    try:
        from greedyfirst.engines.dask_cluster import cluster_at, local_workers
    except ImportError:
        raise ValueError(
            '--cluster and --workers need Dask: pip install "greedyfirst[cluster]"'
        ) from None
    opened = local_workers(workers) if workers is not None else cluster_at(str(cluster))
    with opened as client:
        yield {"engine": client}
