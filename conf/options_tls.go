package conf

// tlsOptions are those of the TLS listener, by the names of redis.conf.
func tlsOptions(p *parser) []*option {
	const g = "TLS"
	return []*option{
		{group: g, name: "tls-port", arg: "port", set: portOrAddress(&p.tlsPort),
			usage: "where clients connect with TLS: a port on the host of --listen, or host:port; empty or 0: nowhere. --listen off closes the port without TLS"},
		{group: g, name: "tls-cert-file", arg: "path", set: text(&p.tlsFiles.Cert),
			usage: "PEM file with the certificate that clients are shown, and those between it and the authority"},
		{group: g, name: "tls-key-file", arg: "path", set: text(&p.tlsFiles.Key),
			usage: "PEM file with the key of --tls-cert-file"},
		{group: g, name: "tls-ca-cert-file", arg: "path", set: text(&p.tlsFiles.CA),
			usage: "PEM file with the authorities that sign clients' certificates"},
		{group: g, name: "tls-auth-clients", arg: "yes|no|optional", def: "yes", set: oneOf(&p.tlsAuthClients, "yes", "no", "optional"),
			usage: "whether clients need a certificate; optional: one that is shown has to be good"},
		{group: g, name: "tls-protocols", arg: "list", def: "TLSv1.2 TLSv1.3", set: protocols(&p.tlsProtocols),
			usage: "TLS versions for clients, separated by spaces"},
	}
}

// mastersTLSOptions are for connections to rediss:// masters.
func mastersTLSOptions(p *parser, g string) []*option {
	return []*option{
		{group: g, name: "masters-tls-ca-cert-file", arg: "path", set: text(&p.mastersTLSFiles.CA),
			usage: "PEM file with the authorities that sign the certificates of rediss:// masters; empty: the system's"},
		{group: g, name: "masters-tls-cert-file", arg: "path", set: text(&p.mastersTLSFiles.Cert),
			usage: "PEM file with this proxy's own certificate, for masters that ask for one"},
		{group: g, name: "masters-tls-key-file", arg: "path", set: text(&p.mastersTLSFiles.Key),
			usage: "PEM file with the key of --masters-tls-cert-file"},
	}
}
