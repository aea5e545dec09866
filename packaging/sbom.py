#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the SBOM of a release in SPDX 2.3: its files, and the libraries that they contain.

    packaging/sbom.py VERSION COMMIT PART=LIST... -- FILE...

A file that has PART in its name contains the libraries in LIST. A line there is a Debian source
package, its version and its copyright file, as packaging/linked.sh finds them. Other files contain
none: Debian packages name theirs in Depends.
"""
import datetime
import hashlib
import itertools
import json
import os
import pathlib
import re
import sys
import urllib.parse

UNKNOWN = {'downloadLocation': 'NOASSERTION', 'filesAnalyzed': False,
           'licenseConcluded': 'NOASSERTION', 'copyrightText': 'NOASSERTION'}


def identifier(*parts):
    return '-'.join(re.sub(r'[^A-Za-z0-9.-]', '-', part) for part in parts)


def libraries(path):
    """The lines of a list as (name, version, copyright file)."""
    found = [line.split() for line in pathlib.Path(path).read_text().splitlines()]
    if not found:
        sys.exit(f'sbom: {path} is empty: are the libraries installed as Debian packages?')
    return [tuple(line) for line in found]


def licence_name(text):
    """The short names in a machine-readable copyright file, else that it is a notice."""
    names = re.findall(r'^License: *(\S.*)$', text, re.M) if text.startswith('Format:') else []
    return ', '.join(dict.fromkeys(names)) or 'as in the notice'


def library_package(name, version):
    """A library. Its licence is the whole copyright file, which has more than one for some."""
    purl = f'pkg:deb/debian/{name}@{urllib.parse.quote(version, safe="")}?arch=source'
    return {**UNKNOWN, 'SPDXID': identifier('SPDXRef-library', name, version), 'name': name,
            'versionInfo': version, 'supplier': 'Organization: Debian',
            'licenseDeclared': identifier('LicenseRef', name, version),
            'externalRefs': [{'referenceCategory': 'PACKAGE-MANAGER', 'referenceType': 'purl',
                              'referenceLocator': purl}]}


def file_package(path, version, licence):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {**UNKNOWN, 'SPDXID': identifier('SPDXRef-file', path.name), 'name': path.name,
            'versionInfo': version, 'packageFileName': path.name, 'licenseDeclared': licence,
            'checksums': [{'algorithm': 'SHA256', 'checksumValue': digest}]}


def main(version, commit, *arguments):
    licence = re.search(r'^license: *(\S+)', pathlib.Path('CITATION.cff').read_text(), re.M)[1]
    lists, files = arguments[:arguments.index('--')], arguments[arguments.index('--') + 1:]
    inside = {part: libraries(path) for part, path in (word.split('=') for word in lists)}
    packages, relations, texts = [], [], {}
    for path in map(pathlib.Path, files):
        made = file_package(path, version, licence)
        packages.append(made)
        relations.append(('SPDXRef-DOCUMENT', 'DESCRIBES', made['SPDXID']))
        relations.append((made['SPDXID'], 'GENERATED_FROM', 'SPDXRef-speclab'))
        for name, number, notice in itertools.chain.from_iterable(
                lines for part, lines in inside.items() if part in path.name):
            library = library_package(name, number)
            texts[library['licenseDeclared']] = pathlib.Path(notice).read_text(errors='replace')
            packages += [library] if library not in packages else []
            relations.append((made['SPDXID'], 'CONTAINS', library['SPDXID']))
    packages.append({**UNKNOWN, 'SPDXID': 'SPDXRef-speclab', 'name': 'speclab',
                     'versionInfo': version, 'licenseDeclared': licence,
                     'sourceInfo': f'commit {commit}'})
    date = datetime.datetime.fromtimestamp(int(os.environ['SOURCE_DATE_EPOCH']),
                                           datetime.timezone.utc)
    sums = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    json.dump({
        'spdxVersion': 'SPDX-2.3', 'dataLicense': 'CC0-1.0', 'SPDXID': 'SPDXRef-DOCUMENT',
        'name': f'speclab-{version}',
        'documentNamespace': f'https://spdx.org/spdxdocs/speclab-{version}-{sums[:32]}',
        'creationInfo': {'created': date.strftime('%Y-%m-%dT%H:%M:%SZ'),
                         'creators': [f'Tool: speclab-sbom-{version}']},
        'packages': packages,
        'hasExtractedLicensingInfos': [
            {'licenseId': name, 'name': licence_name(text), 'extractedText': text}
            for name, text in sorted(texts.items())],
        'relationships': [{'spdxElementId': one, 'relationshipType': kind,
                           'relatedSpdxElement': other} for one, kind, other in relations],
    }, sys.stdout, indent=1, ensure_ascii=False)
    print()


if __name__ == '__main__':
    if '--' not in sys.argv[3:]:
        sys.exit(__doc__.split('\n\n')[1].strip())
    main(*sys.argv[1:])
