"""Dask's scheduler and worker without their servers of web pages: only TLS is listened for."""

import distributed


class Scheduler(distributed.Scheduler):
    """A scheduler that no browser reaches."""

    def start_http_server(self, *args: object, **options: object) -> None:
        """Start nothing: dask has no option that leaves the server away, only its pages."""


class Worker(distributed.Worker):
    """A worker that no browser reaches."""

    def start_http_server(self, *args: object, **options: object) -> None:
        """Start nothing."""
