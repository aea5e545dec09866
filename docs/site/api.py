# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of the C and the Python interface, from the comments and docstrings of the sources."""
import ast
import os
import pathlib
import re
import textwrap
from html import escape

ROOT = pathlib.Path(__file__).parents[2]


def inline(text):
    text = re.sub(r'`([^`]+)`', r'<code>\1</code>', escape(text, quote=False))
    return re.sub(r'docs/((?:formulas/)?[\w-]+)\.md(#[\w-]+)?',
                  lambda m: '<a href="%s.html%s">%s</a>' % (
                      m[1].replace('/README', '').replace('/', '-'), m[2] or '', m[0]), text)


def prose(text):
    """Paragraphs, lists with dashes, and names beside their meaning, in columns."""
    out, column = [], 0  # [kind, name, text]; the column of meanings
    for line in textwrap.dedent(text).strip().split('\n') + ['']:
        row = re.match(r' *(\S.{0,28}?) {2,}(?=\S)', line)
        kind = out[-1][0] if out else ''
        aligned = kind == 'dt' and len(line) > column and re.match(r'\S.* \S', line[:column + 1])
        if not line.strip():
            out.append(['', '', ''])
        elif row or aligned:
            column = row.end() if row else column
            out.append(['dt', line[:column].strip(), line[column:]])
        elif line.startswith('- '):
            out.append(['li', '', line[2:]])
        elif kind and (kind == 'p' or line.startswith(' ')):
            out[-1][2] += ' ' + line.strip()
        else:
            out.append(['p', '', line])
    html, around = '', ''
    for kind, name, words in out:
        outer = {'dt': 'dl', 'li': 'ul'}.get(kind, '')
        if outer != around:
            html += (f'</{around}>\n' if around else '') + (f'<{outer}>\n' if outer else '')
            around = outer
        if kind == 'dt':
            html += f'<dt><code>{escape(name)}</code></dt><dd>{inline(words)}</dd>\n'
        elif kind:
            html += f'<{kind}>{inline(words)}</{kind}>\n'
    return html


def declared(code):
    """The names that a piece of C declares."""
    names = re.findall(r'^\w[^(\n]*?\b(\w+)\(', code, re.M)
    names += re.findall(r'^(?:}|typedef struct \w+) (\w+);', code, re.M)
    for inner in re.findall(r'^enum {(.*?)}', code, re.M | re.S):
        constants = re.findall(r'\b([A-Z]\w+)(?= =)', inner)
        prefix = os.path.commonprefix(constants).rpartition('_')[0]
        names.append(prefix + '_*' if '_' in prefix and len(constants) > 1 else constants[0])
    return names


def header_page(name):
    """include/speclab/NAME.h: each comment as prose, and under it what it is about."""
    lines = (ROOT / f'include/speclab/{name}.h').read_text().split('\n')
    html, comment, code, depth = f'<h1>{name}.h</h1>\n', [], [], 0

    def item():
        nonlocal html, comment, code
        text, names = '\n'.join(code), declared('\n'.join(code))
        if names:
            first = names[0].replace('_*', '')
            html += f'<h3 id="{first}"><code>{"</code>, <code>".join(names)}</code></h3>\n'
        html += prose('\n'.join(comment))
        if text:
            text = escape(text, quote=False)
            for other in names[1:]:
                bare = re.escape(other.replace('_*', ''))
                text = re.sub(rf'\b{bare}(?=\()', rf'<span id="{bare}">{bare}</span>', text)
            html += f'<pre><code>{text}</code></pre>\n'
        comment, code = [], []

    inside = False  # of a comment
    for line in lines[1:]:
        title = re.match(r'/\* -{4} (.*?) -+ \*/$', line)
        if title and 'for bindings' not in title[1]:
            item()
            words = title[1][0].upper() + title[1][1:]
            html += f'<h2 id="{title[1].replace(" ", "-").replace(",", "")}">{words}</h2>\n'
        elif title or line.startswith('#') or line == 'extern "C" {' or (line == '}' and not depth):
            continue
        elif inside or (line.startswith('/*') and not code):
            comment.append(re.sub(r'^(/\*| \*) ?|\s*\*/$', '', line))
            inside = not line.endswith('*/')
            if not inside and not html.count('<p>'):
                comment[0] = re.sub(r'^\w+: (.)', lambda m: m[1].upper(), comment[0])
        elif line or depth:
            code.append(line)
            depth += line.count('{') - line.count('}')
        else:
            item()
    item()
    return html


def public(body):
    return [node for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and not node.name.startswith('_')]


def described(node, name, level, source):
    """A function or a class with its public members."""
    html = f'<h{level} id="{name}"><code>{name}</code></h{level}>\n'
    if isinstance(node, ast.FunctionDef):
        decorators = [ast.unparse(one) for one in node.decorator_list]
        arguments = [one for one in node.args.posonlyargs + node.args.args if one.arg == 'self']
        for one in arguments:
            node.args.args.remove(one)
        text = name if {'property', 'cached_property'} & set(decorators) else (
            f'{name}({ast.unparse(node.args)})')
        text += f' -> {ast.unparse(node.returns)}' if node.returns else ''
        text = textwrap.fill(text, 76, subsequent_indent=' ' * 4, break_on_hyphens=False)
        html += f'<pre><code>{escape(text, quote=False)}</code></pre>\n'
    html += prose(ast.get_docstring(node) or '')
    if isinstance(node, ast.ClassDef):
        fields = [line for one in node.body if isinstance(one, ast.AnnAssign)
                  for line in source[one.lineno - 1:one.end_lineno]]
        if fields:
            fields = escape(textwrap.dedent('\n'.join(fields)), quote=False)
            html += f'<pre><code>{fields}</code></pre>\n'
        for one in public(node.body):
            html += described(one, f'{name}.{one.name}', level + 1, source)
    return html


def python_page():
    """What `import speclab` gives, in the order of its list; parsed, so that nothing is needed."""
    folder = ROOT / 'python/speclab'
    package = ast.parse((folder / '__init__.py').read_text())
    html = '<h1>The package speclab</h1>\n' + prose(ast.get_docstring(package))
    found = {}
    for node in package.body:
        for name in node.names if isinstance(node, ast.ImportFrom) else []:
            path = folder / f'{node.module or name.name}.py'
            path = path if path.exists() else ROOT / 'build' / path.name  # made from --help
            source = path.read_text()
            tree = ast.parse(source)
            if not node.module:  # a module
                about = f'<h2 id="{name.name}"><code>{name.name}</code></h2>\n'
                about += prose(ast.get_docstring(tree))
                found[name.name] = about + ''.join(
                    described(one, f'{name.name}.{one.name}', 3, source.split('\n'))
                    for one in public(tree.body))
            for one in public(tree.body) if node.module else []:
                if one.name == name.name:
                    found[one.name] = described(one, one.name, 2, source.split('\n'))
    return html + ''.join(found[name] for name in sorted(found, key=str.lower))
