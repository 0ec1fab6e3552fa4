#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py ROOT WEIR: bills of materials are valid SPDX 2.3, complete and reproducible; the program holds no build path."""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile

root, weir = (os.path.abspath(p) for p in sys.argv[1:3])
sys.path.insert(0, os.path.join(root, 'tests/server'))
from client import Tap  # noqa: E402

tap = Tap()
tmp = tempfile.TemporaryDirectory(prefix='weir-sbom-')
ID = re.compile(r'SPDXRef-[A-Za-z0-9.-]+')
# of section 11 of the specification: those that tools/sbom may use
RELATIONS = {'DESCRIBES', 'CONTAINS', 'DEPENDS_ON', 'STATIC_LINK', 'DYNAMIC_LINK', 'BUILD_TOOL_OF', 'BUILD_DEPENDENCY_OF',
             'OPTIONAL_DEPENDENCY_OF', 'OTHER'}
DIGITS = {'SHA1': 40, 'SHA256': 64, 'SHA512': 128}


def make(product, *args, name='one'):
    out = os.path.join(tmp.name, name)
    done = subprocess.run([os.path.join(root, 'tools/sbom'), product, args[0], out, *args[1:]], capture_output=True, text=True,
                          check=False, env=dict(os.environ, SOURCE_DATE_EPOCH='1700000000'))
    if done.returncode:
        raise RuntimeError(done.stderr)
    with open(out, 'rb') as f:
        return f.read()


def faults_of_checksums(item):
    return [f'{item["SPDXID"]}: {c}' for c in item.get('checksums', [])
            if not re.fullmatch(rf'[0-9a-f]{{{DIGITS.get(c["algorithm"], 0)}}}', c['checksumValue'])]


def faults(d):
    """What the schema of SPDX 2.3 would refuse, in the fields that are used, and references that lead nowhere."""
    bad = [f'{k}: {d.get(k)!r}' for k, want in (('spdxVersion', 'SPDX-2.3'), ('dataLicense', 'CC0-1.0'),
                                                ('SPDXID', 'SPDXRef-DOCUMENT')) if d.get(k) != want]
    if not d.get('name') or not re.fullmatch(r'urn:uuid:[0-9a-f-]{36}', d.get('documentNamespace', '')):
        bad.append('no name or namespace')
    info = d.get('creationInfo', {})
    if not re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', info.get('created', '')) or not info.get('creators'):
        bad.append(f'creationInfo: {info}')
    ids = [d['SPDXID']] + [x['SPDXID'] for x in d['packages'] + d['files']]
    bad += [f'{i} is there twice' for i in {i for i in ids if ids.count(i) > 1}] + [i for i in ids if not ID.fullmatch(i)]
    for p in d['packages']:
        if not all(p.get(k) for k in ('name', 'versionInfo', 'downloadLocation')) or p.get('filesAnalyzed') is not False:
            bad.append(f'{p["SPDXID"]} is not complete')
        bad += faults_of_checksums(p)
        for r in p.get('externalRefs', []):
            if r['referenceCategory'] != 'PACKAGE-MANAGER' or r['referenceType'] != 'purl' or \
                    not re.fullmatch(r'pkg:(npm|deb/debian)/[^@\s]+@[^@\s]+', r['referenceLocator']):
                bad.append(str(r))
    for f in d['files']:
        bad += faults_of_checksums(f)
        if not f['fileName'].startswith('./') or 'SHA1' not in [c['algorithm'] for c in f['checksums']]:
            bad.append(str(f))
    for r in d['relationships']:
        if r['spdxElementId'] not in ids or r['relatedSpdxElement'] not in ids or r['relationshipType'] not in RELATIONS:
            bad.append(str(r))
    related = {r[k] for r in d['relationships'] for k in ('spdxElementId', 'relatedSpdxElement')}
    return bad + [f'{i} stands alone' for i in ids if i not in related]


def locked(folder):
    """(name, version, sha512) of each entry of a lock file"""
    with open(os.path.join(root, folder, 'package-lock.json'), encoding='utf-8') as f:
        for path, e in json.load(f)['packages'].items():
            if path:
                sums = e.get('integrity', '').removeprefix('sha512-')
                yield path.rpartition('node_modules/')[2], e['version'], base64.b64decode(sums).hex() if sums else None


def missing(d, *folders):
    have = {(p['name'], p['versionInfo']): [c['checksumValue'] for c in p.get('checksums', [])] for p in d['packages']}
    return [(name, version) for f in folders for name, version, sha512 in locked(f)
            if (name, version) not in have or sha512 and sha512 not in have[name, version]]


def related(d, kind):
    names = {p['SPDXID']: p['name'] for p in d['packages']}
    return {names.get(r['relatedSpdxElement']) for r in d['relationships'] if r['relationshipType'] == kind}


def program():
    if not os.path.exists(os.path.join(root, 'out/pages/licenses.json')):
        print("ok 1 - the program's bill of materials # SKIP the pages are missing: run make pages")
        tap.count += 1
        return
    text = make('weir', weir)
    d = json.loads(text)
    tap.check("the program's bill of materials is valid SPDX 2.3", not faults(d), *faults(d)[:3])
    tap.check('it has the same bytes twice', text == make('weir', weir, name='two'))
    gone = missing(d, 'web', 'tools/node', 'tools/duckdb')
    tap.check('it holds each entry of each lock file, with its checksum', not gone, gone[:3])
    tap.check('packages bundled into the pages are told apart from build tools', {'svelte', 'uplot'} <= related(d, 'CONTAINS') and 'vite' not in related(d, 'CONTAINS'))
    linked = related(d, 'DYNAMIC_LINK')
    tap.check('shared libraries are listed by their Debian packages', {'libbpf1', 'libc6', 'libzstd1', 'libmicrohttpd12'} <= linked, linked)
    versions = {p['name']: p['versionInfo'] for p in d['packages'] if p['SPDXID'].startswith('SPDXRef-deb-')}
    said = subprocess.run(['dpkg-query', '-W', '-f', '${Package} ${Version}\n', *sorted(versions)], capture_output=True, text=True, check=True)
    installed = set(map(tuple, (line.split() for line in said.stdout.splitlines())))
    tap.check('with the installed versions', installed == set(versions.items()), installed ^ set(versions.items()))


def static():
    source, out, rule = (os.path.join(tmp.name, n) for n in ('m.c', 'm', 'm.d'))
    with open(source, 'w', encoding='utf-8') as f:
        f.write('#include <zstd.h>\nint main(void) { return (int)ZSTD_versionNumber() == 0; }\n')
    subprocess.run(['cc', '-static', source, '-lzstd', '-o', out, f'-Wl,--dependency-file={rule}'], check=True)
    text = make('weir-static', out, rule)
    d = json.loads(text)
    tap.check("a static program's bill of materials is valid SPDX 2.3", not faults(d), *faults(d)[:3])
    tap.check('it has the same bytes twice', text == make('weir-static', out, rule, name='two'))
    linked = related(d, 'STATIC_LINK')
    tap.check('it lists the archives that were linked', {'libzstd-dev', 'libc6-dev'} <= linked, linked)
    tap.check('and no others', 'libpcre2-dev' not in linked, linked)


def engine():
    library = os.path.join(root, 'out/lib/libduckdb.so')
    if not os.path.exists(library + '.pin'):
        tap.count += 1
        print(f"ok {tap.count} - the engine package's bill of materials # SKIP its library is missing: run make engine")
        return
    d = json.loads(make('weir-engine', library))
    tap.check("the engine package's bill of materials is valid SPDX 2.3 and names DuckDB", not faults(d) and
              'DuckDB' in related(d, 'CONTAINS') and not missing(d, 'tools/duckdb'), *faults(d)[:3])


def no_folders():
    bare = os.path.join(tmp.name, 'weir')
    subprocess.run(['strip', '-o', bare, weir], check=True)
    with open(bare, 'rb') as f:
        at = f.read()
    found = re.findall(rb'[ -~]*' + re.escape(root.encode()) + rb'[ -~]*', at)
    tap.check('the stripped program holds no path of the build folder', not found, *found[:3])


program()
static()
engine()
no_folders()
tmp.cleanup()
sys.exit(tap.end())
