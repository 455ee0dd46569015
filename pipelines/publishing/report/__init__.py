"""The report: one folder of HTML that opens offline. Pages say what tables of `mart` hold, computing nothing.

`writing` puts the folder in place, `site` lists the pages, each page has a module or a function in one.
"""
