"""Adapters to outside libraries; every heavy import happens inside one of them."""
