package config

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Notice says after which runs somebody is told.
type Notice string

// What NOTIFY may be.
const (
	Failures Notice = "failures" // those that failed, were aborted by a safety limit or were killed
	Always   Notice = "always"   // all, and previews that Cloud Scheduler asked for
	Weekly   Notice = "weekly"   // the first that ends in a week, with all since the last summary
)

// SecretURL is an address that whoever knows may use. Printed in whichever way, it shows its host alone.
type SecretURL struct{ text, host string }

// String returns the host.
func (u SecretURL) String() string { return u.host }

// GoString returns the host.
func (u SecretURL) GoString() string { return u.host }

// Reveal returns the address.
func (u SecretURL) Reveal() string { return u.text }

// IsSet reports whether there is one.
func (u SecretURL) IsSet() bool { return u != SecretURL{} }

// notify reads NOTIFY_URL and NOTIFY.
func (l *Loader) notify() (to SecretURL, when Notice) {
	known := regexp.MustCompile(`^(failures|always|weekly)$`).MatchString
	when = Notice(l.text("NOTIFY", string(Failures), known, "failures, always or weekly", true))
	text := strings.TrimSpace(l.getenv("NOTIFY_URL")) // a secret that was made with echo ends with a new line
	if text == "" {
		if l.getenv("NOTIFY") != "" {
			l.problem("NOTIFY_URL is not set, and NOTIFY is: it must be the address of a webhook")
		}
		return SecretURL{}, when
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && (u.Scheme != "http" || !local(u.Hostname())) {
		l.problem("NOTIFY_URL is not an https URL (its value is a secret and not shown): it must be the address of a webhook")
		return SecretURL{}, when
	}
	return SecretURL{text: text, host: u.Hostname()}, when
}

// local reports whether a host is this machine.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
