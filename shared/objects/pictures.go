package objects

import (
	"net/url"
	"strings"
)

// pictures are addresses under which those that people sign in with at Firebase Authentication serve pictures of profiles, as
// photoURL of an account has them
// (https://firebase.google.com/docs/auth/web/manage-users#get_a_users_provider-specific_profile_information). None of them
// serves an object of a bucket. That is why other paths of Google's hosts are not among them: App Engine's image service serves
// objects there. A host that begins with a dot stands for all below it.
var pictures = []struct{ host, path string }{
	{"lh3.googleusercontent.com", "/a/"}, // Google
	{"lh3.googleusercontent.com", "/a-/"},
	{"lh4.googleusercontent.com", "/a/"},
	{"lh4.googleusercontent.com", "/a-/"},
	{"lh5.googleusercontent.com", "/a/"},
	{"lh5.googleusercontent.com", "/a-/"},
	{"lh6.googleusercontent.com", "/a/"},
	{"lh6.googleusercontent.com", "/a-/"},
	{"graph.facebook.com", "/"}, // Facebook
	{"platform-lookaside.fbsbx.com", "/platform/profilepic/"},
	{".fbcdn.net", "/"},
	{"pbs.twimg.com", "/profile_images/"}, // X
	{"abs.twimg.com", "/sticky/default_profile_images/"},
	{"avatars.githubusercontent.com", "/u/"}, // GitHub
	{"secure.gravatar.com", "/avatar/"},      // of those who sign in by e-mail, in many applications
	{"www.gravatar.com", "/avatar/"},
	{"gravatar.com", "/avatar/"},
}

// IsPicture reports whether a text is the URL of a picture that one of those serves with whom people sign in, and nothing else:
// it names no object of any bucket.
func IsPicture(text string) bool {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || strings.Contains(u.Path, "..") {
		return false
	}
	// A parameter may have another URL, such as that of Gravatar for those without a picture, and a text may have several.
	if strings.Count(unescaped(unescaped(text)), "://") > 1 || strings.ContainsAny(text, " \t\r\n,;|\"'<>\\") {
		return false
	}
	for _, p := range pictures {
		isHost := u.Host == p.host || p.host[0] == '.' && strings.HasSuffix(u.Host, p.host)
		if isHost && strings.HasPrefix(u.Path, p.path) {
			return true
		}
	}
	return false
}
