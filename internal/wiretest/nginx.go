package wiretest

import (
	"os/exec"
	"testing"
)

// NginxHead begins a configuration of nginx, up to the inside of its http block. Its verb takes the directory of the test.
const NginxHead = `
daemon off;
master_process off;
pid %[1]s/pid;
error_log stderr error;
events { worker_connections 1000; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
`

// Nginx returns the path of nginx. It skips the test if nginx is not installed.
func Nginx(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no nginx: install nginx to test with it")
	return ""
}
