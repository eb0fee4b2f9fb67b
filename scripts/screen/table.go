package screen

import "strings"

// Column is one column of a table.
type Column struct {
	Name  string
	Right bool // numbers
	Path  bool // as wide as the screen allows, and wrapped at slashes
	Most  int  // the greatest width in columns; 0: as wide as its texts
}

// Row is a row of a table, with the notes below it.
type Row struct {
	Cells []string
	Style string   // of the cells
	Notes []string // texts below; an empty one is left out
	Paths []string // below the notes, one a line if it fits
}

const gap = "  "

// Table writes rows under a heading. Texts that do not fit their column are wrapped; nothing is cut.
func (p *Printer) Table(cols []Column, rows []Row) {
	const indent = 2
	widths := make([]int, len(cols))
	used := indent + len(gap)*(len(cols)-1)
	for i, c := range cols {
		widths[i] = Columns(c.Name)
		for _, r := range rows {
			widths[i] = max(widths[i], Columns(Plain(r.Cells[i])))
		}
		if c.Most > 0 {
			widths[i] = min(widths[i], max(c.Most, Columns(c.Name)))
		}
		if !c.Path {
			used += widths[i]
		}
	}
	for i, c := range cols {
		if c.Path {
			widths[i] = min(widths[i], max(p.Width-used, Columns(c.Name)))
		}
	}
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.Name
	}
	p.cells(indent, cols, widths, names, Faint)
	for _, r := range rows {
		p.cells(indent, cols, widths, r.Cells, r.Style)
		for _, note := range r.Notes {
			if note != "" {
				p.Say(Faint, indent+2, 2, "%s", note)
			}
		}
		for _, path := range r.Paths {
			for i, line := range WrapPath(Plain(path), max(p.Width-indent-4, LeastWidth/2)) {
				p.Line(strings.Repeat(" ", indent+2) + p.Style(Faint, []string{"- ", "  "}[min(i, 1)]+line))
			}
		}
	}
}

func (p *Printer) cells(indent int, cols []Column, widths []int, cells []string, style string) {
	wrapped, height := make([][]string, len(cells)), 1
	for i, cell := range cells {
		if wrapped[i] = Wrap(Plain(cell), widths[i]); cols[i].Path {
			wrapped[i] = WrapPath(Plain(cell), widths[i])
		}
		height = max(height, len(wrapped[i]))
	}
	for n := range height {
		var b strings.Builder
		for i := range cells {
			text := ""
			if n < len(wrapped[i]) {
				text = wrapped[i][n]
			}
			padding := strings.Repeat(" ", widths[i]-Columns(text))
			if cols[i].Right {
				text = padding + text
			} else {
				text += padding
			}
			if i > 0 {
				b.WriteString(gap)
			}
			b.WriteString(text)
		}
		p.Line(strings.Repeat(" ", indent) + p.Style(style, strings.TrimRight(b.String(), " ")))
	}
}
