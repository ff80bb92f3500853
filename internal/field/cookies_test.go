package field

import (
	"strings"
	"testing"
)

func TestJoinCookies(t *testing.T) {
	for _, tt := range []struct{ name, have, want string }{
		{"none", "Host:a\n", "Host=a;"},
		{"one", "Cookie:a=1\nHost:a\n", "Cookie=a=1;Host=a;"},
		{"several", "X:1\ncookie:a=1\nHost:a\nCookie:b=2; c=3\nCOOKIE:d=4\nY:2\n", "X=1;cookie=a=1; b=2; c=3; d=4;Host=a;Y=2;"},
		{"some empty", "Cookie:\nCookie:a=1\nCookie:\nCookie:b=2\n", "Cookie=a=1; b=2;"},
		{"all empty", "Cookie:\nCookie:\n", "Cookie=;"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var built, borrowing List
			borrowing.Borrow([]byte(tt.have))
			for at := 0; at < len(tt.have); {
				line, _, _ := strings.Cut(tt.have[at:], "\n")
				name, value, _ := strings.Cut(line, ":")
				Add(&built, Lookup(name), name, value)
				borrowing.AppendSpan(Lookup(name), at, at+len(name), at+len(name)+1, at+len(line))
				at += len(line) + 1
			}
			var lent List
			borrowing.CopyTo(&lent)
			lent.borrowed = true
			buf := lent.JoinBorrowedCookies(lent.buf[:len(lent.buf):len(lent.buf)])
			if got := dump(&lent); got != tt.want || !lent.borrowed || len(lent.buf) != len(buf) {
				t.Errorf("in borrowed bytes: got %s, want %s", got, tt.want)
			}
			for _, l := range []*List{&built, &borrowing} {
				l.JoinCookies()
				if got := dump(l); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			}
		})
	}
}
