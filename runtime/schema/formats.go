package schema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// formats are the formats that documents are held to. Any other one is a
// remark.
var formats = map[string]func(string) bool{
	"date-time": func(s string) bool { return isTime(time.RFC3339, strings.ToUpper(s)) },
	"date":      func(s string) bool { return isTime(time.DateOnly, s) },
	"time":      func(s string) bool { return isTime(time.RFC3339, "2000-01-01T"+strings.ToUpper(s)) },
	"email": func(s string) bool {
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s
	},
	"ipv4": func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	},
	"ipv6": func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6() && a.Zone() == ""
	},
	"uri": func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.IsAbs()
	},
	"uri-reference": func(s string) bool {
		_, err := url.Parse(s)
		return err == nil
	},
	"uuid":  func(s string) bool { return uuid().MatchString(s) },
	"regex": func(s string) bool { _, err := regexp.Compile(s); return err == nil },
}

func isTime(layout, s string) bool {
	_, err := time.Parse(layout, s)
	return err == nil
}

var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
})
