# SPDX-License-Identifier: Apache-2.0
"""Protobuf's wire format, read without a schema: https://protobuf.dev/programming-guides/encoding."""


def varint(data, at):
    """The number at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Each field of a message, in order: its number, its wire type, and its value, a number or bytes."""
    at, end = 0, len(data)
    while at < end:
        key, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)  # most have one byte: a call would take as long as the rest
        field, kind = key >> 3, key & 7
        if kind == 0:
            value, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], 'little'), at + 8
            assert at <= end, 'cut'
        else:
            assert kind == 2, f'wire type {kind} at {at}'
            size, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, 'cut'
        yield field, kind, value
