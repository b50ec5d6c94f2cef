"""What a message between two of asyncio's tasks costs, over its queues."""

import asyncio
from functools import partial

from account import CLOCK_EVERY, after, following, main, payloads, resident_bytes

ROUND = 1_000_000
# Sends between two turns of the other task.
TURN = 10_000
RING = 1_000
BATCH = 10_000
# What ends a round.
DONE = None


async def send_rounds(queue, confirmed, seed):
    for number, payload in enumerate(payloads(seed), start=1):
        queue.put_nowait(payload)
        if number % ROUND == 0:
            queue.put_nowait(DONE)
            await confirmed.get()
        elif number % TURN == 0:
            # Who waits for nothing keeps the others from running, and this is the
            # documentation's way to let them.
            await asyncio.sleep(0)


async def oneway_unbounded(seed, account):
    queue, confirmed = asyncio.Queue(), asyncio.Queue()
    sender = asyncio.create_task(send_rounds(queue, confirmed, seed))
    longest, goes_on = 0, True
    while goes_on:
        payload = await queue.get()
        if payload is DONE:
            confirmed.put_nowait(DONE)
            continue
        goes_on = account.add(payload)
        if account.done % CLOCK_EVERY == 0:
            longest = max(longest, queue.qsize())
    sender.cancel()
    return {"longest_queue": longest}


async def send(queue, seed):
    for payload in payloads(seed):
        await queue.put(payload)


async def oneway(window, seed, account):
    queue = asyncio.Queue(window)
    sender = asyncio.create_task(send(queue, seed))
    while account.add(await queue.get()):
        pass
    sender.cancel()
    return {}


async def answer(ping, pong):
    while True:
        await pong.put(await ping.get())


async def pingpong(seed, account):
    ping, pong = asyncio.Queue(1), asyncio.Queue(1)
    other = asyncio.create_task(answer(ping, pong))
    for payload in payloads(seed):
        await ping.put(payload)
        if not account.add(await pong.get()):
            break
    other.cancel()
    return {}


def hop(token):
    x, total, done = token
    x = following(x)
    return x, after(total, x), done + 1


async def relay(before, after):
    while True:
        await after.put(hop(await before.get()))


async def ring(seed, account):
    queues = [asyncio.Queue(1) for _ in range(RING)]
    others = [asyncio.create_task(relay(*pair)) for pair in zip(queues, queues[1:])]
    token = (seed, 0, 0)
    goes_on = True
    while goes_on:
        await queues[0].put(token)
        token = hop(await queues[-1].get())
        _, account.sum, account.done = token
        goes_on = account.tell()
    for other in others:
        other.cancel()
    return {}


async def wait(released, payload):
    await released.wait()
    return payload


async def spawn(seed, account):
    before = resident_bytes()
    bytes_each = 0
    numbers = payloads(seed)
    while True:
        released = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(wait(released, next(numbers))) for _ in range(BATCH)]
            # Each begins now: one that hasn't would never wait.
            await asyncio.sleep(0)
            bytes_each = bytes_each or (resident_bytes() - before) // BATCH
            released.set()
        account.done += BATCH
        for task in tasks:
            account.sum = after(account.sum, task.result())
        if not account.tell():
            return {"bytes_each": bytes_each}


async def hand(numbers, account):
    while account.add(next(numbers)):
        await asyncio.sleep(0)


async def switch(seed, account):
    numbers = payloads(seed)
    await asyncio.gather(hand(numbers, account), hand(numbers, account))
    return {}


WORKS = {
    "oneway-unbounded": oneway_unbounded,
    "oneway-1": partial(oneway, 1),
    "oneway-64": partial(oneway, 64),
    "oneway-1024": partial(oneway, 1024),
    "pingpong": pingpong,
    "ring": ring,
    "spawn": spawn,
    "switch": switch,
}


asyncio.run(main(WORKS))
