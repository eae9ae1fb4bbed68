// Package deploy holds what it takes to run redlock-proxy in production: a
// compose file, Kubernetes manifests and a systemd unit, and the tests that
// check them. The container image is built and run by
//
//	go test ./deploy -run TestImage -image
//
// which starts a Docker daemon of its own and so needs root.
package deploy
