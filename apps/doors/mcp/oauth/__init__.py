"""OAuth 2.1 for applications that connect by themselves, on django-oauth-toolkit.

Authorization code with PKCE (S256) only; public clients, which register themselves (RFC 7591) or are named by the
address of their metadata. Metadata: RFC 8414 and 9728; resource indicators: RFC 8707; revocation: RFC 7009.
"""
