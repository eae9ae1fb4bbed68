// Package integration tests redlock-proxy as its users meet it: the built
// program, real redis-servers as masters, and real client libraries.
//
//	cd integration && go test ./...
//
// It needs redis-server and redis-cli in the PATH and is a module of its own,
// so that the clients it tests with are no dependencies of the product. A few
// tests also need root, ip, iptables, a C compiler or Python; they are skipped
// where that is missing, and fail if CI is set. What a
// client sees through the proxy is compared with what it sees on one plain
// redis-server.
//
// Set TEST_PROXY_BINARY to test a program that is already built.
//
// The benchmark is the command in bench.
package integration
