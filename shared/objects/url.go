package objects

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Why a media URL names no object of our bucket. Its object, if any, is kept.
var (
	ErrURLForm   = errors.New("a URL that names no object of Cloud Storage")
	ErrURLBucket = errors.New("a URL of another bucket")
)

// maxName is the longest name an object can have, in bytes of UTF-8.
const maxName = 1024

// ObjectName returns the name of the object of our bucket that a URL names. The URL is user input. ObjectName understands
// only Firebase's download URL and Cloud Storage's two, each with and without :443, gs://, and the emulator's URL if
// emulatorHost is set. Host, bucket and path must match exactly, and the name must be one that an object can have. Otherwise
// the error is [ErrURLForm] or [ErrURLBucket].
func ObjectName(rawURL, bucket, emulatorHost string) (string, error) {
	// Names in gs:// are not escaped, and may contain what no URL may: they are taken as they are.
	if location, ok := strings.CutPrefix(rawURL, "gs://"); ok {
		named, name, _ := strings.Cut(location, "/")
		return checked(named, name, bucket)
	}
	u, err := url.Parse(rawURL)
	if err != nil || u.User != nil || u.Opaque != "" {
		return "", ErrURLForm
	}
	path := u.EscapedPath()
	var named, escaped string
	// A name is often put into Cloud Storage's URLs as it is. Then what follows its # or ? may be of the name.
	_, query, asks := strings.Cut(rawURL, "?")
	unclear := strings.Contains(rawURL, "#") || asks && !strings.Contains(query, "=")
	// Firebase's SDK for Apple's platforms writes the port of https into its download URLs.
	host := strings.TrimSuffix(u.Host, ":443")
	onFirebase := u.Scheme == "https" && host == "firebasestorage.googleapis.com"
	onEmulator := emulatorHost != "" && (u.Scheme == "http" || u.Scheme == "https") && sameHost(u.Host, emulatorHost)
	switch {
	case (onFirebase || onEmulator) && strings.HasPrefix(path, "/v0/b/"):
		var ok bool
		named, escaped, ok = strings.Cut(strings.TrimPrefix(path, "/v0/b/"), "/o/")
		if !ok || strings.Contains(escaped, "/") { // Firebase escapes the slashes of a name
			return "", ErrURLForm
		}
	case unclear:
		return "", ErrURLForm
	// The console links to storage.cloud.google.com.
	case u.Scheme == "https" && (host == "storage.googleapis.com" || host == "storage.cloud.google.com"), onEmulator:
		named, escaped, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if named != bucket && (strings.HasPrefix(path, "/download/storage/v1/b/") || strings.HasPrefix(path, "/storage/v1/b/")) {
			return "", ErrURLForm // of the JSON API: it names another bucket than its first part
		}
	case u.Scheme == "https" && strings.HasSuffix(host, ".storage.googleapis.com"):
		named, escaped = strings.TrimSuffix(host, ".storage.googleapis.com"), strings.TrimPrefix(path, "/")
	default:
		return "", ErrURLForm
	}
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return "", ErrURLForm
	}
	return checked(named, name, bucket)
}

func checked(named, name, bucket string) (string, error) {
	switch {
	case named == "" || !ValidName(name):
		return "", ErrURLForm
	case named != bucket:
		return "", ErrURLBucket
	}
	return name, nil
}

// ValidName reports whether an object can have the name, by Cloud Storage's rules, and whether nothing can confuse it with
// another. Cloud Storage allows "." and ".." between slashes. But some software resolves them, as the Firebase Emulator Suite
// does, and ends at another object.
func ValidName(name string) bool {
	dots := slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part == "." || part == ".." })
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsAny(name, "\r\n") && !dots &&
		!strings.HasPrefix(name, ".well-known/acme-challenge/")
}

// sameHost compares two host:port. An emulator may be called localhost, 127.0.0.1, [::1] or 10.0.2.2.
func sameHost(a, b string) bool {
	local := strings.NewReplacer("localhost:", "127.0.0.1:", "[::1]:", "127.0.0.1:", "10.0.2.2:", "127.0.0.1:")
	return local.Replace(a) == local.Replace(b)
}
