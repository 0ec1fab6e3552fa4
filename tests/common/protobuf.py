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
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        field, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], 'little'), at + 8
            assert at <= len(data), 'cut'
        else:
            assert kind == 2, f'wire type {kind} at {at}'
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, 'cut'
        yield field, kind, value
