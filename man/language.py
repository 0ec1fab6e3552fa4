#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""language.py VERSION docs/howto/query.md: the manual page weir-query-language(7), from the guide of the language.

Knows the Markdown that the guide is written in: headings, paragraphs, tables, code blocks, `code`.
"""
import re
import sys


def escape(text):
    return text.replace('\\', '\\e').replace('-', '\\-')


def inline(text):
    """Text with `code` in bold."""
    parts = re.split(r'`([^`]*)`', text)
    out = ''.join('\\fB' + escape(p) + '\\fR' if i % 2 else escape(p) for i, p in enumerate(parts))
    return '\\&' + out if out[:1] in ".'" else out


def cells(line):
    return [c.strip().replace('\\|', '|') for c in re.split(r'(?<!\\)\|', line.strip())[1:-1]]


def table(lines):
    """A row is a tagged paragraph: the first cell, then the others."""
    for line in lines[2:]:
        row = cells(line)
        yield '.TP\n' + inline(row[0])
        yield inline('; '.join(c for c in row[1:] if c))


def code(lines):
    yield '.PP\n.RS 4\n.nf'
    for line in lines:
        yield ('\\&' if line[:1] in ".'" else '') + escape(line)
    yield '.fi\n.RE'


def page(version, text):
    yield f'.TH WEIR\\-QUERY\\-LANGUAGE 7 "" "weir {version}" "Concepts"'
    yield '.SH NAME\nweir\\-query\\-language \\- conditions and pipelines over the calls of a trace\n.SH DESCRIPTION'
    lines = text.split('\n')
    paragraph = []
    i = 0

    def flush():
        if paragraph:
            yield '.PP\n' + inline(' '.join(paragraph))
            paragraph.clear()

    while i < len(lines):
        line = lines[i]
        end = i + 1
        if line.startswith(('```', '|', '#')) or not line.strip():
            yield from flush()
        if line.startswith('```'):
            while not lines[end].startswith('```'):
                end += 1
            yield from code(lines[i + 1:end])
            end += 1
        elif line.startswith('|'):
            while end < len(lines) and lines[end].startswith('|'):
                end += 1
            yield from table(lines[i:end])
        elif line.startswith('### '):
            yield '.SS ' + inline(line[4:])
        elif line.startswith('## '):
            yield '.SH ' + inline(line[3:].upper())
        elif line.strip() and not line.startswith('#'):
            paragraph.append(line)
        i = end
    yield from flush()
    yield '.SH SEE ALSO\n.BR weir\\-query (1),\n.BR weir\\-sql (1),\n.BR weir (1)'


with open(sys.argv[2], encoding='utf-8') as f:
    print('\n'.join(page(sys.argv[1], f.read())))
