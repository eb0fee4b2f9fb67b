package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// filter is a filter of Cloud Logging: as much of its language as the command uses, and everything else is an error. OR
// binds more tightly than AND there, unlike elsewhere, so both on one level without parentheses are refused too.
// https://docs.cloud.google.com/logging/docs/view/logging-query-language
type filter func(entry map[string]any) bool

var filterTokens = regexp.MustCompile(`\s*("(?:[^"\\]|\\.)*"|[<>]=|[():=*]|[A-Za-z_][A-Za-z0-9_.]*)`)

// parseFilter parses a filter.
func parseFilter(text string) (filter, error) {
	var tokens []string
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := filterTokens.FindStringSubmatchIndex(rest)
		if m == nil || m[0] != 0 {
			return nil, fmt.Errorf("not understood: %s", rest)
		}
		tokens, rest = append(tokens, rest[m[2]:m[3]]), rest[m[1]:]
	}
	p := &filterParser{tokens: tokens}
	f, err := p.all()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("not understood: %v", p.tokens)
	}
	return f, err
}

type filterParser struct{ tokens []string }

func (p *filterParser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	return token
}

// all parses terms with one operator between them.
func (p *filterParser) all() (filter, error) {
	first, err := p.term()
	if err != nil {
		return nil, err
	}
	terms, operator := []filter{first}, ""
	for len(p.tokens) > 0 && p.tokens[0] != ")" {
		o := p.next()
		if o != "AND" && o != "OR" || operator != "" && o != operator {
			return nil, fmt.Errorf("%q where %q was expected", o, operator)
		}
		operator = o
		term, err := p.term()
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
	}
	return func(e map[string]any) bool {
		holds := func(f filter) bool { return f(e) }
		if operator == "OR" {
			return slices.ContainsFunc(terms, holds)
		}
		return !slices.ContainsFunc(terms, func(f filter) bool { return !f(e) })
	}, nil
}

func (p *filterParser) term() (filter, error) {
	path := p.next()
	if path == "(" {
		f, err := p.all()
		if err == nil && p.next() != ")" {
			err = errors.New("no closing parenthesis")
		}
		return f, err
	}
	value := func(e map[string]any) any {
		var v any = e
		for name := range strings.SplitSeq(path, ".") {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		return v
	}
	switch operator := p.next(); operator {
	case "=":
		want := p.next()
		if text, isText := strings.CutPrefix(want, `"`); isText {
			want = strings.TrimSuffix(text, `"`)
		} else if want != "true" && want != "false" {
			return nil, fmt.Errorf("%s=%s: a text must be quoted", path, want)
		}
		return func(e map[string]any) bool { v := value(e); return v != nil && fmt.Sprint(v) == want }, nil
	case ">=", "<=":
		bound, err := time.Parse(time.RFC3339Nano, strings.Trim(p.next(), `"`))
		return func(e map[string]any) bool {
			at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(value(e)))
			return err == nil && (at.Equal(bound) || at.After(bound) == (operator == ">="))
		}, err
	case ":":
		return p.has(path, value)
	default:
		return nil, fmt.Errorf("%s %s: no such comparison", path, operator)
	}
}

// has parses what follows path:, either * or texts of which the value contains one.
func (p *filterParser) has(path string, value func(map[string]any) any) (filter, error) {
	if token := p.next(); token == "*" {
		return func(e map[string]any) bool { return value(e) != nil }, nil
	} else if token != "(" {
		return nil, fmt.Errorf("%s:%s is not used", path, token)
	}
	var texts []string
	for {
		token := p.next()
		if !strings.HasPrefix(token, `"`) {
			return nil, fmt.Errorf("%s:(… %s", path, token)
		}
		texts = append(texts, strings.ToLower(strings.Trim(token, `"`)))
		if token = p.next(); token == ")" {
			break
		} else if token != "OR" {
			return nil, fmt.Errorf("%s:(… %s", path, token)
		}
	}
	return func(e map[string]any) bool {
		v, _ := value(e).(string)
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(v), text) })
	}, nil
}
