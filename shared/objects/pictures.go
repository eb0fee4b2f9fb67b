package objects

import (
	"net/url"
	"strings"
)

// pictures are addresses under which those that people sign in with at Firebase Authentication serve pictures of profiles, as
// photoURL of an account has them (https://firebase.google.com/docs/auth/web/manage-users#get_a_users_provider-specific_profile_information).
// None of them serves an object of a bucket. That is why other paths of Google's hosts are not among them: App Engine's image
// service serves objects there. A host that begins with a dot stands for all below it.
var pictures = []struct{ host, path string }{
	{"lh3.googleusercontent.com", "/a/"}, // Google, https://developers.google.com/identity/openid-connect/reference
	{"lh3.googleusercontent.com", "/a-/"},
	{"lh4.googleusercontent.com", "/a/"},
	{"lh4.googleusercontent.com", "/a-/"},
	{"lh5.googleusercontent.com", "/a/"},
	{"lh5.googleusercontent.com", "/a-/"},
	{"lh6.googleusercontent.com", "/a/"},
	{"lh6.googleusercontent.com", "/a-/"},
	{"graph.facebook.com", "/"}, // Facebook, https://developers.facebook.com/docs/graph-api/reference/user/picture
	{"platform-lookaside.fbsbx.com", "/platform/profilepic/"},
	{".fbcdn.net", "/"},
	{"pbs.twimg.com", "/profile_images/"}, // X, https://docs.x.com/x-api/fundamentals/data-dictionary
	{"abs.twimg.com", "/sticky/default_profile_images/"},
	{"avatars.githubusercontent.com", "/u/"}, // GitHub, https://docs.github.com/rest/users/users
	{"secure.gravatar.com", "/avatar/"},      // which many applications have for those that sign in with e-mail, https://docs.gravatar.com
	{"www.gravatar.com", "/avatar/"},
	{"gravatar.com", "/avatar/"},
}

// IsPicture reports whether a text is the URL of a picture that one of those serves with whom people sign in, and nothing else: it
// names no object of any bucket.
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
