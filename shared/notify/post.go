package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/googleapis/gax-go/v2"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// How often a message is tried, how long one attempt may take, and how long is waited between them at most.
const (
	attempts   = 3
	oneAttempt = 5 * time.Second
	maxWait    = 10 * time.Second
)

// How long texts may be, in bytes, which are no fewer than the characters that services count. Slack cuts at 40,000 and
// recommends 4,000; Teams takes 28 kB with all that is around the text.
const (
	maxText    = 4000
	maxDiscord = 2000 - len(fence) - len(fence)
)

// fence is around a text that Discord is to show as it is.
const fence = "\n```\n"

// Post posts a message, again after an answer of 408, 429 or 5xx and after none, as long as ctx lasts. A message whose answer was
// lost may so come twice. wait waits before another attempt; nil: [gax.Sleep]. The error never shows more of the address than
// its host.
func Post(ctx context.Context, to config.SecretURL, m Message, wait func(ctx context.Context, d time.Duration) error) error {
	body, err := json.Marshal(m.body(strings.ToLower(to.String())))
	if err != nil {
		return err
	}
	if wait == nil {
		wait = gax.Sleep
	}
	pause := time.Second
	for n := 1; ; n++ {
		again, after, err := post(ctx, to, body)
		if err == nil || !again || n == attempts {
			return err
		}
		if after > maxWait {
			return fmt.Errorf("%w, and is to be tried again only in %s", err, after)
		}
		if wait(ctx, max(pause, after)) != nil {
			return err // there is no more time
		}
		pause *= 2
	}
}

// client follows no redirect, which would take the message to another host.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// post makes one attempt. It reports whether another one may help, and after which time the service wants it.
func post(ctx context.Context, to config.SecretURL, body []byte) (again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, oneAttempt)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.Reveal(), bytes.NewReader(body))
	if err != nil {
		return false, 0, errors.New("its address is malformed") // the error quotes it
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		var whole *url.Error
		if errors.As(err, &whole) { // which quotes the address
			err = whole.Err
		}
		return true, 0, err
	}
	defer func() {
		// So that the connection can be used again. What the answer says does not matter.
		_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
		_ = response.Body.Close()
	}()
	if response.StatusCode/100 == 2 {
		return false, 0, nil
	}
	code := response.StatusCode
	again = code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500
	if seconds, err := strconv.ParseFloat(response.Header.Get("Retry-After"), 64); err == nil && seconds > 0 && seconds < 1e6 {
		after = time.Duration(seconds * float64(time.Second))
	} else if at, err := http.ParseTime(response.Header.Get("Retry-After")); err == nil {
		after = time.Until(at)
	}
	return again, after, fmt.Errorf("it answered %d", code)
}

// object is a JSON object.
type object = map[string]any

// body returns the message in the form that the service at a host takes.
func (m Message) body(host string) any {
	text := m.cut(maxText)
	switch {
	case host == "hooks.slack.com" || host == "hooks.slack-gov.com":
		escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text) // or <!channel> would call everybody
		return object{"text": escaped, "mrkdwn": false}
	case under(host, "discord.com") || under(host, "discordapp.com"):
		shown := fence + strings.ReplaceAll(m.cut(maxDiscord), "`", "'") + fence
		return object{"content": shown, "allowed_mentions": object{"parse": []string{}}}
	case under(host, "logic.azure.com") || under(host, "api.powerplatform.com"):
		return card(strings.Split(text, "\n"))
	}
	m.Text = text
	return m
}

func under(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

// card returns an Adaptive Card as a workflow of Teams takes it. Unlike text blocks, runs of text know no Markdown.
func card(lines []string) any {
	var blocks []any
	for i, line := range lines {
		run := object{"type": "TextRun", "text": line}
		if i == 0 {
			run["weight"] = "Bolder"
		}
		blocks = append(blocks, object{"type": "RichTextBlock", "inlines": []any{run}})
	}
	return object{"type": "message", "attachments": []any{object{
		"contentType": "application/vnd.microsoft.card.adaptive",
		"content": object{
			"type": "AdaptiveCard", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "version": "1.4", "body": blocks,
		},
	}}}
}

// cut returns the text in so many bytes at most, with the command that shows the rest.
func (m Message) cut(most int) string {
	if len(m.Text) <= most {
		return m.Text
	}
	end := "\nThe rest was cut: " + m.rest + " shows it."
	return report.Clip(m.Text, most-len(end)) + end
}
