"""Mathematics as MathML, which browsers draw by themselves: the site needs no script and no network for it."""

import re
import unicodedata

from latex2mathml.converter import convert

_STYLED = re.compile(r'<(mi|mn) mathvariant="(bold|double-struck|script)">(\w)</\1>')


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(writer, node):
    _write(writer, node, "inline")


def visit_block(writer, node):
    writer.body.append('<div class="math-block">')
    try:
        _write(writer, node, "block")
    finally:
        writer.body.append("</div>")


def _write(writer, node, display):
    from docutils import nodes

    writer.body.append(to_mathml(node.astext(), display))
    raise nodes.SkipNode


def to_mathml(latex, display="inline"):
    """A formula; bold, script and double-struck letters as characters of their own, as browsers ignore their styles."""
    tagged = re.sub(r"\\tag\{([^}]*)\}", r"\\qquad\\text{(\1)}", latex)
    spelled = re.sub(r"\\mathcal (\w)", r"\\mathcal{\1}", tagged)
    formula = convert(spelled, display=display)
    return _STYLED.sub(lambda match: f"<{match[1]}>{_letter(match[3], match[2])}</{match[1]}>", formula)


def _letter(character, style):
    kind = "DIGIT" if character.isdigit() else "CAPITAL" if character.isupper() else "SMALL"
    name = unicodedata.name(character).split()[-1]
    for prefix in ("MATHEMATICAL ", ""):  # some letters, such as the real numbers' R, are older than the others
        try:
            return unicodedata.lookup(f"{prefix}{style.upper()} {kind} {name}")
        except KeyError:
            continue
    return character
