"""Mathematics as MathML, which browsers draw by themselves: the site needs no script and no network for it."""

from latex2mathml.converter import convert


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(writer, node):
    _write(writer, node, "inline")


def visit_block(writer, node):
    writer.body.append('<div class="math-block">')
    _write(writer, node, "block")
    writer.body.append("</div>")


def _write(writer, node, display):
    from docutils import nodes

    writer.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode
