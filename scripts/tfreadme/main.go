// Command tfreadme writes what a user of the Terraform module has to know into terraform/README.md, between its two marks:
// inputs, outputs, roles and APIs as terraform/*.tf declare them, and what the examples say of themselves:
//
//	go run ./scripts/tfreadme           # write
//	go run ./scripts/tfreadme --check   # fail if it is out of date
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	begin = "<!-- Written by go run ./scripts/tfreadme. -->\n"
	end   = "<!-- End of what tfreadme writes. -->\n"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if terraform/README.md is out of date")
	folder := flag.String("module", "terraform", "the module's folder")
	flag.Parse()
	if err := run(*folder, *check); err != nil {
		fmt.Fprintln(os.Stderr, "tfreadme: "+err.Error())
		os.Exit(1)
	}
}

func run(folder string, check bool) error {
	m, err := read(folder)
	if err != nil {
		return err
	}
	page := filepath.Join(folder, "README.md")
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, err := m.insert(old)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	switch {
	case bytes.Equal(old, text):
		return nil
	case check:
		return fmt.Errorf("%s is out of date: run go run ./scripts/tfreadme", page)
	}
	return os.WriteFile(page, text, 0o644) //nolint:gosec // a page for everybody
}

// module is what a module's caller has to know.
type module struct {
	requires  []declared // Terraform and providers, with their versions
	variables []declared
	outputs   []declared
	types     []string   // of the resources that it and its own modules make
	apis      []string   // that it enables
	examples  []declared // name and description
}

type declared struct {
	name, kind, standard, description string
	required                          bool
}

// read parses the module's files.
func read(folder string) (*module, error) {
	m := &module{}
	if err := blocks(filepath.Join(folder, "*.tf"), m.add); err != nil {
		return nil, err
	}
	if len(m.variables)+len(m.outputs)+len(m.requires) == 0 {
		return nil, fmt.Errorf("%s holds no Terraform module", folder)
	}
	// Of the module's own modules, only the resources concern its user.
	err := blocks(filepath.Join(folder, "*", "*.tf"), func(block *hclsyntax.Block, source []byte) error {
		if block.Type == "resource" {
			return m.add(block, source)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := m.addExamples(filepath.Join(folder, "examples")); err != nil {
		return nil, err
	}
	// Required variables come first.
	slices.SortStableFunc(m.variables, func(a, b declared) int {
		return cmp.Or(-compareBools(a.required, b.required), strings.Compare(a.name, b.name))
	})
	slices.SortFunc(m.outputs, func(a, b declared) int { return strings.Compare(a.name, b.name) })
	return m, nil
}

// blocks calls do with each block of the files.
func blocks(pattern string, do func(block *hclsyntax.Block, source []byte) error) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parsed, diagnostics := hclsyntax.ParseConfig(source, file, hcl.InitialPos)
		if diagnostics.HasErrors() {
			return diagnostics
		}
		body, ok := parsed.Body.(*hclsyntax.Body)
		if !ok {
			return fmt.Errorf("%s: not in HCL's native syntax", file)
		}
		for _, block := range body.Blocks {
			if err := do(block, source); err != nil {
				return fmt.Errorf("%s: %w", block.DefRange(), err)
			}
		}
	}
	return nil
}

// addExamples adds the configurations in the folder's folders, with what each main.tf begins with.
func (m *module) addExamples(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*", "main.tf"))
	if err != nil {
		return err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		d := declared{name: filepath.Base(filepath.Dir(file)), description: about(string(source))}
		if d.description == "" {
			return fmt.Errorf("%s begins with no comment that says what it shows", file)
		}
		m.examples = append(m.examples, d)
	}
	return nil
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (m *module) add(block *hclsyntax.Block, source []byte) error {
	switch block.Type {
	case "variable", "output":
		d, err := declaration(block, source)
		if err != nil {
			return err
		}
		if block.Type == "variable" {
			m.variables = append(m.variables, d)
		} else {
			m.outputs = append(m.outputs, d)
		}
	case "resource":
		m.types = append(m.types, block.Labels[0])
		if a := block.Body.Attributes["for_each"]; a != nil && block.Labels[0] == "google_project_service" {
			m.apis = append(m.apis, apisIn(text(a.Expr, source))...)
		}
	case "terraform":
		if a := block.Body.Attributes["required_version"]; a != nil {
			m.requires = append(m.requires, declared{name: "Terraform", standard: text(a.Expr, source)})
		}
		for _, providers := range block.Body.Blocks {
			if providers.Type != "required_providers" {
				continue
			}
			for name, provider := range providers.Body.Attributes {
				d, err := required(name, provider.Expr, source)
				if err != nil {
					return err
				}
				m.requires = append(m.requires, d)
			}
		}
		slices.SortFunc(m.requires, func(a, b declared) int { return strings.Compare(a.name, b.name) })
	}
	return nil
}

// declaration reads a variable or an output.
func declaration(block *hclsyntax.Block, source []byte) (declared, error) {
	d := declared{name: block.Labels[0]}
	description := block.Body.Attributes["description"]
	if description == nil {
		return d, errors.New("no description")
	}
	value, diagnostics := description.Expr.Value(nil)
	if diagnostics.HasErrors() {
		return d, diagnostics
	}
	d.description = value.AsString()
	if a := block.Body.Attributes["type"]; a != nil {
		d.kind = text(a.Expr, source)
	} else if block.Type == "variable" {
		return d, errors.New("no type")
	}
	if a := block.Body.Attributes["default"]; a != nil {
		d.standard = text(a.Expr, source)
	} else {
		d.required = true
	}
	return d, nil
}

// required reads one provider of required_providers.
func required(name string, e hclsyntax.Expression, source []byte) (declared, error) {
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return declared{}, fmt.Errorf("provider %s is not an object", name)
	}
	d := declared{name: name}
	for _, item := range object.Items {
		switch text(item.KeyExpr, source) {
		case "source":
			d.name = strings.Trim(text(item.ValueExpr, source), `"`)
		case "version":
			d.standard = text(item.ValueExpr, source)
		}
	}
	return d, nil
}

// text returns an expression's source on one line.
func text(e hclsyntax.Expression, source []byte) string {
	return strings.Join(strings.Fields(string(e.Range().SliceBytes(source))), " ")
}

// insert returns the page with new text between its marks.
func (m *module) insert(page []byte) ([]byte, error) {
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return nil, fmt.Errorf("the marks are missing: %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	var b strings.Builder
	b.WriteString(before + begin)
	b.WriteString("\n## Requirements\n\n| | version |\n|---|---|\n")
	for _, r := range m.requires {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(r.name), code(strings.Trim(r.standard, `"`)))
	}
	b.WriteString("\n## Inputs\n\n| name | type | default | |\n|---|---|---|---|\n")
	for _, v := range m.variables {
		standard := "required"
		if !v.required {
			standard = code(v.standard)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.name, code(v.kind), standard, cell(v.description))
	}
	b.WriteString("\n## Outputs\n\n| name | |\n|---|---|\n")
	for _, o := range m.outputs {
		fmt.Fprintf(&b, "| `%s` | %s |\n", o.name, cell(o.description))
	}
	roles, err := rolesFor(m.types)
	if err != nil {
		return nil, err
	}
	b.WriteString("\n## Roles of whoever applies\n\n| on the project | for |\n|---|---|\n")
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", role, strings.Join(roles[role], "`, `"))
	}
	fmt.Fprintf(&b, "\n## APIs\n\nThey are enabled unless `enable_apis` is false: `%s`.\n", strings.Join(m.apis, "`, `"))
	b.WriteString("\n## Examples\n\n| | |\n|---|---|\n")
	for _, e := range m.examples {
		fmt.Fprintf(&b, "| [%s](examples/%s) | %s |\n", e.name, e.name, cell(e.description))
	}
	b.WriteString("\n" + end + after)
	return []byte(b.String()), nil
}

func code(s string) string { return "`" + cell(s) + "`" }

// cell keeps a text within its column.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}
