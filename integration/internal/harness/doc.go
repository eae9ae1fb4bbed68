// Package harness runs the programs that the integration tests and the
// benchmark need: redis-servers, the product's binary, and a network that can
// be cut. All of it listens on 127.0.0.1 and dies with the calling process,
// however that ends.
//
// It also has a small Redis connection of its own, [Conn], that shows replies
// as they are on the wire and can send bytes that no client library sends.
package harness
