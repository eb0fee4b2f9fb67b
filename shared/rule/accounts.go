package rule

// The values of [Rule.Accounts].
const (
	Anonymous  = "anonymous"
	Unverified = "unverified"
	Disabled   = "disabled"
	All        = "all"
)

// AccountKinds returns the values of [Rule.Accounts].
func AccountKinds() []string { return []string{Anonymous, Unverified, Disabled, All} }

// kindWords says what each kind of accounts is called.
var kindWords = map[string]string{
	Anonymous: "anonymous accounts", Disabled: "disabled accounts", All: "all accounts",
	Unverified: "accounts with an unverified e-mail address and only a password",
}
