"""Memory for agents over the Model Context Protocol (T2): tools and resources, over HTTP and stdio."""
