#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the site of the documents and man pages: site.py OUT MAN PARTS [PICTURES LAB.html]

PARTS keeps the body of each page, as pandoc wrote it. PICTURES are those of the gallery, and the
lab is the page of `make web`; without them the gallery has commands alone, and there is no lab.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from html import escape, unescape

import api
import gallery

HERE, ROOT = pathlib.Path(__file__).parent, api.ROOT

# The pages of each group in their order; '-' begins a part with a title. A document that is not
# named here is a topic of the reference.
GROUPS = [
    ('Start', ['index', 'faq', 'notation', 'packages', 'changelog']),
    ('Learn', ['learn', 'paper', 'check-a-sampler', 'tune-a-server']),
    ('Reference', ['-Commands', 'guide', 'speclab', 'speclab-*', '-Topics', '*', '-The project',
                   'references', 'contributing', 'testing', 'map']),
    ('Formulas', ['formulas', 'formulas-*']),  # in the order of their first links
    ('API', ['-C', 'library', 'c-speclab', 'c-sampler', '-Python', 'python', 'python-api']),
    ('Gallery', ['gallery']),
    ('Lab', ['lab']),
]
LABELS = {'index': 'speclab', 'speclab': 'all commands', 'notation': 'Glossary: words and symbols'}


def sources(man):
    """Pages and the files that they are made of; page.lua has the same names for links."""
    yield 'index', 'README.md'
    for path in [*ROOT.glob('docs/**/*.md'), ROOT / 'CONTRIBUTING.md', ROOT / 'CHANGELOG.md']:
        path = str(path.relative_to(ROOT))
        yield re.sub('^docs/|/README|.md$', '', path).replace('/', '-').lower(), path
    for path in sorted(pathlib.Path(man).glob('*.1')):
        yield path.stem, str(path)


def part(source, target):
    """Lets pandoc write the body of a page, unless it is newer than what it is made of."""
    if target.exists() and target.stat().st_mtime > max(
            path.stat().st_mtime for path in (ROOT / source, HERE / 'page.lua')):
        return
    kind = 'man' if source.endswith('.1') else 'gfm+tex_math_dollars'
    subprocess.run(['pandoc', '-f', kind, '-t', 'html5', '--mathml', '--no-highlight',
                    '--lua-filter', HERE / 'page.lua', '-M', f'path={source}', '-o', target,
                    source], check=True, cwd=ROOT)


def text_of(html):
    html = re.sub(r'<annotation.*?</annotation>|</?(code|em|strong|a|span)\b[^>]*>', '', html,
                  flags=re.S)
    return ' '.join(unescape(re.sub(r'<[^>]+>', ' ', html)).split())


def title_of(html):
    return text_of(re.search(r'<h1.*?>(.*?)</h1>', html, re.S)[1])


def gallery_page(pictures):
    html = ('<h1>Gallery</h1>\n<p>Every figure that speclab draws, with the commands that make it. '
            'The pictures here come from fewer rounds than these commands run. The logs are those '
            'of <a href="advise.html">Advise</a>, prose.txt is in experiments/text, and the '
            'command of <a href="#training">training</a> makes model.gguf. '
            '<a href="speclab-plot.html">'
            '<code>speclab plot</code></a> draws other formats and sizes.</p>\n'
            '<div class="cards">\n')
    for figure, command, needs in gallery.entries():
        text = (ROOT / f'plots/{figure}.gp').read_text()
        summary = re.search('^# (?!SPDX)(.*)', text, re.M)[1]
        picture = ''
        if pictures and not needs:
            picture = (f'<a href="gallery/{figure}.svg"><img src="gallery/{figure}.svg" '
                       f'loading="lazy" alt="{escape(summary)}"></a>')
        if needs:
            needs = f'<p><em>It needs your own models or data:</em> {api.inline(needs)}</p>'
        else:
            command = gallery.shown(command)
        command = escape(command.replace(' && ', '\n'), quote=False)
        html += (f'<section>\n<h2 id="{figure}">{figure}</h2>\n<p>{escape(summary)}</p>\n{picture}'
                 f'{needs}\n<pre><code>{command}</code></pre>\n</section>\n')
    return html + '</div>\n'


def sections(html):
    """(level, anchor, heading, text) of each heading, in order."""
    pieces = re.split(r'<h([1-4])(?: id="([^"]*)")?[^>]*>(.*?)</h\1>', html, flags=re.S)
    return [(int(level), anchor, text_of(head), text_of(text)) for level, anchor, head, text in
            zip(*(pieces[i::4] for i in range(1, 5)))]


def contents(name, html):
    deep = 3 if name.startswith(('c-', 'python-api')) else 2
    found = [one for one in sections(html) if 1 < one[0] <= deep and one[1]]
    if len(found) < 3:
        return ''
    links = ''.join(f'<li class="level{level}"><a href="#{anchor}">{escape(head)}</a></li>\n'
                    for level, anchor, head, _ in found)
    return ('<nav class="contents" aria-label="On this page">\n<p>On this page</p>\n'
            f'<ul>\n{links}</ul>\n</nav>')


def placed(groups, bodies):
    """The groups with the names of pages in place of patterns, and without what is missing."""
    named = {name for _, names in groups for name in names}
    verbs = sorted(name for name in bodies if name.startswith('speclab-'))
    formulas = list(dict.fromkeys(re.findall(r'href="(formulas-[\w-]+)\.html', bodies['formulas'])))
    others = sorted(set(bodies) - named - {*verbs, *formulas}, key=lambda it: title_of(bodies[it]))
    wild = {'*': others, 'speclab-*': verbs, 'formulas-*': formulas}
    result = []
    for group, names in groups:
        names = [one for name in names for one in wild.get(name, [name])
                 if one in bodies or one.startswith('-')]
        if names:
            result.append((group, names))
    return result


def navigation(groups, current, labels):
    """Links to the groups, to the list of the current group's pages, and that list."""
    top = more = pages = named = ''
    for group, names in groups:
        first = next(name for name in names if not name.startswith('-'))
        here = ' aria-current="true"' if current in names else ''
        top += f'<a href="{first}.html"{here}>{group}</a>\n'
        if current in names and len(names) > 1:
            named, pages = group, f'<p>{group}</p>\n<ul>\n'
            for name in names:
                here = ' aria-current="page"' if name == current else ''
                pages += (f'<li class="part">{name[1:]}</li>\n' if name.startswith('-') else
                          f'<li><a href="{name}.html"{here}>{escape(labels[name])}</a></li>\n')
            pages += '</ul>\n'
    if pages:
        pages = f'<nav class="pages" id="pages" aria-label="Pages">\n{pages}</nav>\n'
        more = f'<a class="more" href="#pages">All pages of {named}</a>\n'
    return top, more, pages


def index(groups, bodies):
    """What search knows of each section: its page, title, anchor and words."""
    pages = []
    for _, names in groups:
        for name in names:
            if name in bodies:
                found = [[anchor, head, set(re.findall('[a-z0-9][a-z0-9_-]+', words.lower()))]
                         for _, anchor, head, words in sections(bodies[name])]
                pages.append([name, LABELS.get(name) or title_of(bodies[name]), found])
    pages.sort(key=lambda page: page[0] == 'changelog')  # behind pages that match as well
    seen = {}
    for word in (word for page in pages for one in page[2] for word in one[2]):
        seen[word] = seen.get(word, 0) + 1
    most = sum(len(page[2]) for page in pages) / 8  # more common words tell nothing
    for page in pages:
        for one in page[2]:
            one[2] = ' '.join(sorted(word for word in one[2] if seen[word] < most))
    return 'siteIndex(' + json.dumps(pages, ensure_ascii=False, separators=(',', ':')) + ');\n'


def main(out, man, parts, pictures='', lab=''):
    out, parts = pathlib.Path(out), pathlib.Path(parts).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    parts.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = {name: pool.submit(part, path, parts / f'{name}.html')
                for name, path in sources(man)}
    for one in made.values():
        one.result()
    bodies = {name: (parts / f'{name}.html').read_text() for name in made}
    bodies['c-speclab'] = api.header_page('speclab')
    bodies['c-sampler'] = api.header_page('sampler')
    bodies['python-api'] = api.python_page()
    bodies['gallery'] = gallery_page(pictures)
    if lab:
        bodies['lab'] = '<h1>Lab: rounds, speed-ups and logs in the browser</h1>'
        shutil.copy(lab, out / 'lab.html')
    short = r'^(speclab (?=[a-z]+$)|Formulas: )'  # what the title of the list says
    labels = {name: LABELS.get(name) or re.sub(short, '', title_of(body))
              for name, body in bodies.items()}
    groups = placed(GROUPS, bodies)
    template = (HERE / 'page.html').read_text()
    for name, body in bodies.items():
        if name == 'lab':
            continue
        top, more, pages = navigation(groups, name, labels)
        title = title_of(body) + (' – speclab' if name != 'index' else '')
        body = body.replace('</h1>', '</h1>\n' + contents(name, body), 1)
        page = template
        for key, value in (('TITLE', escape(title)), ('GROUPS', top), ('MORE', more),
                           ('PAGES', pages), ('BODY', body)):
            page = page.replace(f'@{key}@', value)
        (out / f'{name}.html').write_text(page)
    for file in [HERE / 'style.css', HERE / 'search.js', *(ROOT / 'docs').glob('*.svg'),
                 *(ROOT / 'docs').glob('*.png')]:
        shutil.copy(file, out)
    if pictures:
        shutil.copytree(pictures, out / 'gallery', ignore=shutil.ignore_patterns('*.key'))
    (out / 'index.js').write_text(index(groups, bodies))


if __name__ == '__main__':
    main(*sys.argv[1:])
