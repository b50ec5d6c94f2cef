"""The gateway of asyncio, on uvloop's event loop."""

import asyncio

import uvloop

from gateway import serve

if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())
