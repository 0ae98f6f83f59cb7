# tools/sitelib: the parts of tools/site.
