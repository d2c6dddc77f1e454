# SPDX-License-Identifier: Apache-2.0
# ---- make install
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/nrtd
SYSCONFDIR ?= /etc
SYSTEMDUNITDIR ?= $(PREFIX)/lib/systemd/system
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
MANIFESTDIR ?= $(PREFIX)/share/nrtd/kubernetes
SELINUXDIR ?= $(PREFIX)/share/nrtd/selinux


# The programs that generate their completions run on the build machine.
SELF := $(B)
ifdef CROSS
SELF := build/self
build/self/nrtd build/self/nrtd-extender build/self/kubectl-numa: FORCE
	@$(MAKE) --no-print-directory ARCH= B=$(@D) CFLAGS=-O0 $@
endif
##release install: install into DESTDIR and PREFIX (default: /usr/local)
.PHONY: install
install: all $(SELF)/nrtd $(SELF)/nrtd-extender $(SELF)/kubectl-numa
	install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(BINDIR) $(foreach n,1 7 8,$(DESTDIR)$(MANDIR)/man$(n)) $(DESTDIR)$(DOCDIR)/doc/recipes $(DESTDIR)$(DOCDIR)/doc/appendix \
		$(DESTDIR)$(SYSTEMDUNITDIR) $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) $(DESTDIR)$(FISHCOMPDIR) $(DESTDIR)$(MANIFESTDIR) $(DESTDIR)$(SELINUXDIR)
	install -m 755 $(B)/nrtd $(B)/nrtd-extender $(DESTDIR)$(SBINDIR)/
	install -m 755 $(B)/kubectl-numa packaging/kubectl_complete-numa $(DESTDIR)$(BINDIR)/
	for n in 1 7 8; do install -m 644 man/*.$$n $(DESTDIR)$(MANDIR)/man$$n/ || exit 1; done
	install -m 644 README.md $(DESTDIR)$(DOCDIR)/
	install -m 644 doc/*.md doc/*.json $(DESTDIR)$(DOCDIR)/doc/
	install -m 644 doc/recipes/*.md $(DESTDIR)$(DOCDIR)/doc/recipes/
	install -m 644 doc/appendix/*.md $(DESTDIR)$(DOCDIR)/doc/appendix/
	echo .so man1/kubectl-numa.1 >$(DESTDIR)$(MANDIR)/man1/kubectl_complete-numa.1
	for unit in systemd/*; do sed 's#/usr/sbin/#$(SBINDIR)/#' $$unit >$(DESTDIR)$(SYSTEMDUNITDIR)/$${unit##*/} || exit 1; done
	install -d $(DESTDIR)$(SYSCONFDIR)/default
	[ -e $(DESTDIR)$(SYSCONFDIR)/default/nrtd ] || install -m 644 packaging/nrtd.default $(DESTDIR)$(SYSCONFDIR)/default/nrtd
	for d in $$(cd packaging/kubernetes && find . -type d); do install -d $(DESTDIR)$(MANIFESTDIR)/$$d && \
		install -m 644 packaging/kubernetes/$$d/*.yaml $(DESTDIR)$(MANIFESTDIR)/$$d/ || exit 1; done
	install -m 644 packaging/kubernetes/monitoring/dashboard.json packaging/monitoring/rules.yaml $(DESTDIR)$(MANIFESTDIR)/monitoring/
	install -m 644 packaging/selinux/nrtd.cil $(DESTDIR)$(SELINUXDIR)/
	for p in nrtd nrtd-extender kubectl-numa; do \
		$(SELF)/$$p completion bash >$(DESTDIR)$(BASHCOMPDIR)/$$p && $(SELF)/$$p completion zsh >$(DESTDIR)$(ZSHCOMPDIR)/_$$p && \
		$(SELF)/$$p completion fish >$(DESTDIR)$(FISHCOMPDIR)/$$p.fish || exit 1; done
