#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the pictures of the site's gallery, one after the other: gallery.py SPECLAB FOLDER

A picture is kept while its command, its experiment and the sources of the program are the same.
gallery.txt has the commands; prose.txt is that of experiments/text, *.log those of docs/advise.md.
"""
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]


def entries():
    """(figure, command with {braces}, what the reader must bring or '') of each line."""
    text = re.sub(r'^#.*\n', '', (HERE / 'gallery.txt').read_text(), flags=re.M)
    lines = re.sub(r'\n +', ' ', text).splitlines()
    figures = [path.stem for path in sorted(ROOT.glob('plots/*.gp'))
               if re.search('^# title:', path.read_text(), re.M)]
    if [line.split()[0] for line in lines] != figures:
        sys.exit(f'gallery: docs/site/gallery.txt must list, in order, {" ".join(figures)}')
    for line in lines:
        figure, command = line.split(None, 1)
        command, _, needs = command.partition(' needs: ')
        if f'{figure}.svg' not in command and 'speclab plot' not in command:
            command += f' && speclab plot {figure}.csv'
        yield figure, command, needs


def shown(command):
    """The command as readers type it."""
    return re.sub(r' +', ' ', re.sub(r'\{[^}]*\}', '', command))


def main(program, folder):
    program, folder = pathlib.Path(program).resolve(), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    same = hashlib.sha256()
    for source in sorted(ROOT.glob('*/**/*.[ch]')) + sorted(ROOT.glob('plots/*.gp')):
        if source.relative_to(ROOT).parts[0] not in ('build', 'tests', 'web', 'mpi'):
            same.update(source.read_bytes())
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        shutil.copy(ROOT / 'experiments/text/prose.txt', scratch)
        logs = (ROOT / 'docs/advise.md').read_text()
        for name, log in re.findall(r'^```text (\w+\.log)\n(.*?)^```', logs, re.M | re.S):
            (scratch / name).write_text(log)
        for figure, command, needs in entries():
            if needs:
                continue
            key = same.copy()
            key.update(command.encode())
            for name in re.findall(r'speclab run (\w+)', command):
                key.update((ROOT / f'experiments/cfg/{name}.cfg').read_bytes())
            note, picture = folder / f'{figure}.key', folder / f'{figure}.svg'
            if picture.exists() and note.exists() and note.read_text() == key.hexdigest():
                continue
            print(f'  FIGURE {figure}', flush=True)
            # A status above 0 is an answer of some verbs.
            line = re.sub('[{}]', '', command).replace(' && ', '; ')
            done = subprocess.run(['sh', '-c', f'speclab() {{ {program} "$@"; }}; {line}'],
                                  cwd=scratch, text=True, capture_output=True)
            if not (scratch / f'{figure}.svg').exists():
                sys.exit(f'gallery: {line}\n{done.stderr}')
            shutil.copy(scratch / f'{figure}.svg', picture)
            note.write_text(key.hexdigest())


if __name__ == '__main__':
    main(*sys.argv[1:])
