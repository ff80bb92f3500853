package middleware

import (
	"net/netip"
	"testing"
)

func TestIsPublic(t *testing.T) {
	for _, tc := range []struct {
		rule   string
		public bool
		addrs  []string
	}{
		{"public", true, []string{"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "223.255.255.255", "2606:4700:4700::1111", "2a00::1", "2001:200::1", "::ffff:1.1.1.1"}},
		{"unspecified", false, []string{"0.0.0.0", "::", "0.1.2.3"}},
		{"loopback", false, []string{"127.0.0.1", "127.255.255.254", "::1"}},
		{"private", false, []string{"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12::1", "fec0::1"}},
		{"link-local", false, []string{"169.254.1.1", "fe80::1", "fe80::1%eth0", "febf::1"}},
		{"shared, behind the NAT of a provider", false, []string{"100.64.0.1", "100.127.255.255"}},
		{"metadata services", false, []string{"169.254.169.254", "169.254.170.2", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fe80::a9fe:a9fe", "fd20:ce::254"}},
		{"multicast and reserved", false, []string{"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1", "ff0e::1"}},
		{"documentation and benchmarks", false, []string{"192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "2001:db8::1", "3fff::1", "2001:2::1"}},
		{"IPv4-mapped", false, []string{"::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"}},
		{"IPv4-compatible", false, []string{"::127.0.0.1", "::7f00:1", "::10.0.0.1"}},
		{"SIIT", false, []string{"::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"}},
		{"NAT64", false, []string{"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::a00:1", "64:ff9b:1:ffff::1"}},
		{"6to4 and its relays", false, []string{"2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1", "192.88.99.1"}},
		{"Teredo and ORCHID", false, []string{"2001::1", "2001:0:7f00:1::f5ff:fffe", "2001:10::1", "2001:20::1"}},
		{"no unicast", false, []string{"100::1", "4000::1", "5f00::1", "8000::1", "3ffe::1"}},
	} {
		for _, text := range tc.addrs {
			if got := isPublic(netip.MustParseAddr(text)); got != tc.public {
				t.Errorf("%s: %s is public: %v", tc.rule, text, got)
			}
		}
	}
}
