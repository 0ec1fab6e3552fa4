# SPDX-License-Identifier: Apache-2.0
"""What a relay of messages does wrong in the tests, and at which of them."""
COUNT = 60
ALTERED, DROPPED, TWICE, LATE, BEHIND = 10, (20, 21), 30, 40, 43


def wrong(take):
    """For each message received: those that are sent on."""
    held = None
    for i in range(COUNT):
        data = bytearray(take())
        if i == ALTERED:
            data[50:54] = bytes(v ^ 0x15 for v in data[50:54])
        if i == LATE:
            held = data
        dropped = i in DROPPED or i == LATE
        yield [data] * (not dropped) + [data] * (i == TWICE) + [held] * (i == BEHIND)
