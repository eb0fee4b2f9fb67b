package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// filter is a filter of Cloud Logging: as much of its language as the command uses, and everything else is an error. It is read as
// the Go expression of the same form. OR binds more tightly than AND there, unlike in Go, so both on one level without parentheses
// are refused too. https://docs.cloud.google.com/logging/docs/view/logging-query-language
type filter func(entry map[string]any) bool

var (
	filterTokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[<>]?=|:\*?|\w+`)
	inGo         = map[string]string{"AND": "&&", "OR": "||", "=": "==", ":": "%", ":*": "% set", "type": "type_"} // a keyword of Go
)

// parseFilter parses a filter.
func parseFilter(text string) (filter, error) {
	x, err := parser.ParseExpr(filterTokens.ReplaceAllStringFunc(text, func(t string) string { return cmp.Or(inGo[t], t) }))
	if err == nil {
		_, err = holds(x, nil)
	}
	return func(e map[string]any) bool { is, err := holds(x, e); return is && err == nil }, err
}

func holds(x ast.Expr, e map[string]any) (bool, error) {
	if p, is := x.(*ast.ParenExpr); is {
		return holds(p.X, e)
	}
	b, is := x.(*ast.BinaryExpr)
	if !is {
		return false, fmt.Errorf("not understood: %T", x)
	}
	logical := []token.Token{token.LAND, token.LOR}
	if slices.Contains(logical, b.Op) {
		left, leftErr := holds(b.X, e)
		right, rightErr := holds(b.Y, e)
		for _, side := range []ast.Expr{b.X, b.Y} {
			if inner, is := side.(*ast.BinaryExpr); is && inner.Op != b.Op && slices.Contains(logical, inner.Op) {
				return false, errors.New("AND and OR need parentheses")
			}
		}
		return left && right || b.Op == token.LOR && (left || right), errors.Join(leftErr, rightErr)
	}
	value, texts := valueAt(b.X, e), literals(b.Y)
	switch {
	case len(texts) == 0, len(texts) > 1 && b.Op != token.REM:
		return false, fmt.Errorf("%s: neither texts nor true or false", b.Op)
	case b.Op == token.EQL:
		return value != nil && fmt.Sprint(value) == texts[0], nil
	case b.Op == token.REM && texts[0] == "set":
		return value != nil, nil
	case b.Op == token.REM:
		return slices.ContainsFunc(texts, func(text string) bool {
			return strings.Contains(strings.ToLower(fmt.Sprint(value)), strings.ToLower(text))
		}), nil
	case b.Op == token.GEQ, b.Op == token.LEQ:
		bound, err := time.Parse(time.RFC3339Nano, texts[0])
		at, atErr := time.Parse(time.RFC3339Nano, fmt.Sprint(value))
		return atErr == nil && (at.Equal(bound) || at.After(bound) == (b.Op == token.GEQ)), err
	}
	return false, fmt.Errorf("%s: no such comparison", b.Op)
}

func valueAt(x ast.Expr, e map[string]any) any {
	switch x := x.(type) {
	case *ast.Ident:
		return e[x.Name]
	case *ast.SelectorExpr:
		above, _ := valueAt(x.X, e).(map[string]any)
		return above[strings.TrimSuffix(x.Sel.Name, "_")]
	}
	return nil
}

// literals returns texts, or the one of true and set; none if there is something else.
func literals(x ast.Expr) []string {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return literals(x.X)
	case *ast.BinaryExpr:
		if left, right := literals(x.X), literals(x.Y); x.Op == token.LOR && left != nil && right != nil {
			return append(left, right...)
		}
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil {
			return []string{text}
		}
	case *ast.Ident:
		if slices.Contains([]string{"true", "false", "set"}, x.Name) {
			return []string{x.Name}
		}
	}
	return nil
}
