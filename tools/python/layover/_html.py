"""Tables for notebooks."""
import html


def table(rows, columns):
    """A table of the rows' fields, with every text escaped."""
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
    body = "".join(line(["" if row.get(name) is None else row[name] for name in columns], "td") for row in rows)
    return f"<table><thead>{line(columns, 'th')}</thead><tbody>{body}</tbody></table>"
