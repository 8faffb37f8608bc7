/** One page, which fetches nothing from elsewhere: no fonts, no packages. Its colours are in `src/dashboard.css`. */
export default {
  root: 'src',
  title: 'ripen',
  globalStylesheets: [],
  sidebar: false,
  toc: false,
  pager: false,
  search: false,
  footer: '',
};
